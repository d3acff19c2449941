-- Ports of tasks are taken by host.

ALTER TABLE allocations ADD COLUMN port_hosts text[] NOT NULL DEFAULT '{}';
COMMENT ON COLUMN allocations.port_hosts IS
    'names and addresses of the machines where `ports` are in use; empty stands for all';
