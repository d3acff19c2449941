"""Runs under the published package: changes a model and its version by the model's name.

Arguments: user, password, name of the model. Prints one JSON object.
"""

import json
import sys
import warnings

warnings.simplefilter("ignore")

from determined.experimental import client  # noqa: E402  # the warnings come with the import

user, password, name = sys.argv[1:]
client.login(user=user, password=password)
model = client.get_model(name)
model.set_labels(["a/b"])
model.archive()
model.unarchive()
[version] = model.list_versions()
version.set_notes("changed")
found = {"labels": client.get_model(name).labels, "notes": model.get_version(1).notes}
version.delete()
found["versions"] = [each.model_version for each in model.list_versions()]
print(json.dumps(found))
