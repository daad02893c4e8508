"""Programs as files that run on a page without Python (the names of torch.export)."""
from .program import ExportedProgram, export, runner, save

__all__ = ["ExportedProgram", "export", "runner", "save"]
