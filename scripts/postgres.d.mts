// The types of postgres.mjs, for the tests that start a server.
export type PostgresServer = {
  readonly port: number;
  url(database?: string): string;
  crash(): Promise<unknown>;
  start(): Promise<unknown>;
  stop(): Promise<void>;
};

export function startPostgres(options?: {
  readonly settings?: Readonly<Record<string, string | number>>;
  readonly standbyOf?: number;
}): Promise<PostgresServer>;
