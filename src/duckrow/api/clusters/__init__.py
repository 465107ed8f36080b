"""Runs on clusters: submitting, copying from their batch's folder, watching and controlling them."""
