"""Drop the least informative words of a text before it is indexed."""

from theanine_methods.denoising.denoise import Denoising, check_denoising, denoise

__all__ = ["Denoising", "check_denoising", "denoise"]
