// DBOS: a workflow that waits for a message, in PostgreSQL.
export const about = {
  name: 'DBOS',
  packages: ['@dbos-inc/dbos-sdk'],
  store: 'PostgreSQL',
  keeps: 'its database has it',
  needs: 'postgres',
};
