"""How a placed job becomes a process somewhere. Each engine does what `core.ports.Engine` asks for."""
