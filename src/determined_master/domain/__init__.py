"""Pure decisions: frozen values in, frozen values out."""
