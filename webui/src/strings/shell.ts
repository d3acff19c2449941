export const shell = {
  skip: "Skip to the content",
  home: "Home",
  uncategorized: "Uncategorized",
  workspaces: "Workspaces",
  boards: "Boards",
  models: "Model registry",
  tasks: "Tasks",
  templates: "Templates",
  policies: "Config policies",
  webhooks: "Webhooks",
  cluster: "Cluster",
  admin: "Administration",
  events: "Events",
  docs: "Documentation",
  api: "API",
  settings: "Settings",
  signOut: "Sign out",
  collapse: "Collapse the side bar",
  expand: "Expand the side bar",
  search: "Search or jump to",
} as const;

export const login = {
  title: "Sign in",
  username: "User name",
  password: "Password",
  submit: "Sign in",
  expired: "Your session has ended. Sign in to continue; the page keeps what you typed.",
  emptyPassword:
    "This user has an empty password. Set one under Settings so that nobody else signs in with this name.",
  token: "Token of this session, for the command line",
} as const;
