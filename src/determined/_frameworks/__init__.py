"""The common parts of the callbacks of Keras, Lightning and transformers."""
