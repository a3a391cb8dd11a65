"""The statistics: numbers in, numbers out; a catalogue of each kind. No I/O."""
