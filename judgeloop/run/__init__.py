"""What all questions share: settings, identity, inputs, driving, and looking into a run."""
