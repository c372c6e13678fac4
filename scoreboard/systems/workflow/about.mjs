// Vercel Workflow: a workflow that waits for a hook, in PostgreSQL.
export const about = {
  name: 'Vercel Workflow',
  packages: ['workflow', '@workflow/world-postgres'],
  store: 'PostgreSQL',
  keeps: 'its database has it',
  needs: 'postgres',
};
