"""Runs on clusters: submitted, copied from their batch's folder, watched and controlled."""
