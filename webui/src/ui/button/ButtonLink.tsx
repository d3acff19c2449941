import { Link, type LinkProps } from "react-router";

import { Icon } from "../icons/Icon";
import { classOf, type Shape } from "./Button";

/** A link that looks like a button. */
export function ButtonLink({ look = "normal", small, icon, children, className, ...rest }: Shape & LinkProps) {
  return (
    <Link className={classOf({ look, small, icon, children }, className)} {...rest}>
      {icon && <Icon name={icon} />}
      {children}
    </Link>
  );
}
