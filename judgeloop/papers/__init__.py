"""The methods of three papers: what each picks and when it stops, beside judgeloop's own methods.

- `diffuse`: Ashury-Tahan et al. (2024), "Label-Efficient Model Selection for Text Generation".
- `llm_selector`: Durmazkeser et al. (2025), "Active Model Selection for Large Language Models".
- `actracer`: Huang et al. (2024), "Active Testing of Large Language Model via Multi-Stage Sampling".
"""
