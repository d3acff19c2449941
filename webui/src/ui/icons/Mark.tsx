/** The mark of the side bar and of the sign-in, as in `favicon.svg`: drawn here, it needs no request. */
export function Mark({ size }: { size: number }) {
  return (
    <svg viewBox="0 0 32 32" width={size} height={size} aria-hidden>
      <rect width="32" height="32" rx="7" fill="var(--accent)" />
      <path d="M9 8h6.5a8 8 0 0 1 0 16H9z" fill="none" stroke="var(--on-accent)" strokeWidth="3.2" />
      <circle cx="15" cy="16" r="2.4" fill="var(--on-accent)" />
    </svg>
  );
}
