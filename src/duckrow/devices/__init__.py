"""What GPUs there are, and who uses them. A reading is a value; nothing here starts anything or books a device."""
