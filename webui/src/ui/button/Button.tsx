import type { ButtonHTMLAttributes, ReactNode, Ref } from "react";

import { Icon, type IconName } from "../icons/Icon";
import styles from "./Button.module.css";

type Look = "normal" | "primary" | "danger" | "quiet";

export interface Shape {
  look?: Look;
  small?: boolean;
  icon?: IconName;
  children?: ReactNode;
}

export interface ButtonProps extends Shape, ButtonHTMLAttributes<HTMLButtonElement> {
  /** Why the action cannot be done now: the button stays focusable and shows the reason. */
  disabledReason?: string | undefined;
  ref?: Ref<HTMLButtonElement>;
}

export function Button({
  look = "normal",
  small,
  icon,
  children,
  disabledReason,
  className,
  onClick,
  title,
  type = "button",
  ...rest
}: ButtonProps) {
  return (
    <button
      type={type}
      className={classOf({ look, small, icon, children }, className)}
      title={disabledReason ?? title}
      aria-disabled={disabledReason ? true : undefined}
      onClick={disabledReason ? (event) => event.preventDefault() : onClick}
      {...rest}
    >
      {icon && <Icon name={icon} />}
      {children}
    </button>
  );
}

/** A button with an icon alone; `label` is its name and its tooltip. */
export function IconButton({
  icon,
  label,
  look = "quiet",
  ...rest
}: Omit<ButtonProps, "children" | "icon"> & { icon: IconName; label: string }) {
  return (
    <Button look={look} icon={icon} aria-label={label} title={rest.disabledReason ?? label} {...rest} />
  );
}

export function classOf({ look, small, icon, children }: Shape, extra: string | undefined): string {
  return [
    styles.button,
    look !== "normal" && styles[look ?? "normal"],
    small && styles.small,
    icon && (children === undefined || children === null) && styles.icon,
    extra,
  ]
    .filter(Boolean)
    .join(" ");
}
