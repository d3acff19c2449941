/** Lines of a log and where they come from; the data layer owns the types. */
export * from "@/data/logs/types";
