"""`det deploy aws prices`: present prices of machines, in the form of the master's settings."""

from __future__ import annotations

import argparse
import datetime
import json
from typing import Any, Dict, List, Optional, Sequence

from determined.cli import errors
from determined_deploy.aws.account import Account, explained

PRICE_LIST_REGION = "us-east-1"
"""The price list of all regions is served by few of them."""
_PRODUCT = {
    "operatingSystem": "Linux",
    "tenancy": "Shared",
    "preInstalledSw": "NA",
    "capacitystatus": "Used",
}
"""The one product of a type that a plain machine of Linux is billed as."""
_SPOT_PRODUCTS = ["Linux/UNIX", "Linux/UNIX (Amazon VPC)"]


def show_prices(args: argparse.Namespace) -> None:
    """Print the dollars an hour of instance types in a region.

    Raises:
        CliError: AWS has no price of a type there.
    """
    access = Account(args)
    types: List[str] = list(dict.fromkeys(args.instance_types))
    with explained():
        by_type = {name: {"on_demand": _on_demand(access, name)} for name in types}
        for name, price in _spot(access, types).items():
            by_type[name]["spot"] = price
    unknown = [name for name, prices in by_type.items() if not any(prices.values())]
    if unknown:
        raise errors.CliError(
            f"AWS has no price of {', '.join(unknown)} in {access.region}: check the names of the "
            "types and --region"
        )
    print(_text(by_type, access.region), end="")


def _on_demand(access: Account, name: str) -> Optional[float]:
    """The list price; None where AWS has none for the region."""
    attributes = {"instanceType": name, "regionCode": access.region, **_PRODUCT}
    filters = [{"Type": "TERM_MATCH", "Field": k, "Value": v} for k, v in attributes.items()]
    client = access.client("pricing", region=PRICE_LIST_REGION)
    pages = client.get_paginator("get_products").paginate(ServiceCode="AmazonEC2", Filters=filters)
    hourly = [price for page in pages for text in page["PriceList"] for price in _hourly(text)]
    return max(hourly, default=None)


def _hourly(product: str) -> List[float]:
    """The prices of an hour in a product of the price list, which is JSON in a string."""
    terms: Dict[str, Any] = json.loads(product).get("terms", {}).get("OnDemand", {})
    dimensions = [d for term in terms.values() for d in term["priceDimensions"].values()]
    prices = [float(d["pricePerUnit"]["USD"]) for d in dimensions if d.get("unit") == "Hrs"]
    return [price for price in prices if price > 0]


def _spot(access: Account, types: Sequence[str]) -> Dict[str, float]:
    """The present spot price of each type, in its dearest zone: no budget is exceeded by it."""
    now = datetime.datetime.now(datetime.timezone.utc)
    pages = (
        access.client("ec2")
        .get_paginator("describe_spot_price_history")
        .paginate(InstanceTypes=list(types), ProductDescriptions=_SPOT_PRODUCTS, StartTime=now)
    )
    spot_prices: Dict[str, float] = {}
    for one in (one for page in pages for one in page["SpotPriceHistory"]):
        name = one["InstanceType"]
        spot_prices[name] = max(spot_prices.get(name, 0.0), float(one["SpotPrice"]))
    return spot_prices


def _text(by_type: Dict[str, Dict[str, Optional[float]]], region: str) -> str:
    today = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    lines = [f"# Dollars an hour of Linux machines of AWS in {region} on {today}.", "prices:"]
    for name, prices in by_type.items():
        parts = [f"{market}: {price:.8g}" for market, price in prices.items() if price]
        lines.append(f"  {name}: {{{', '.join(parts)}}}")
    return "\n".join(lines) + "\n"
