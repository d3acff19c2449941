import styles from "./Models.module.css";

export function Tags({ tags }: { tags: readonly string[] | undefined }) {
  if (!tags || tags.length === 0) return <span className="hint">–</span>;
  return (
    <span className={styles.tags}>
      {tags.map((each) => (
        <span key={each} className={styles.tag}>
          {each}
        </span>
      ))}
    </span>
  );
}
