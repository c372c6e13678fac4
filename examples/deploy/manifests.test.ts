// The files of a deployment: they can be parsed, fit together and fit the command line, and the guide shows them.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parseAllDocuments, parseDocument } from 'yaml';
import { z } from 'zod';
import { runCommandLine } from '../../packages/server/src/cli/command-line.ts';
import { renderChart } from './render-chart.ts';

const read = (name: string): string => readFileSync(join(import.meta.dirname, name), 'utf8');
const guide = readFileSync(join(import.meta.dirname, '../../docs/guides/deploy.md'), 'utf8');

/** A stop waits so long for open requests and for models. */
const GRACE_S = 10;

test.each([
  ['Dockerfile', 'dockerfile'],
  ['compose.yaml', 'yaml'],
])('the guide shows %s as it is', (name, language) => {
  expect(guide).toContain(`\`\`\`${language}\n${read(name)}\`\`\`\n`);
});

describe('compose.yaml', () => {
  const document = parseDocument(read('compose.yaml'), { merge: true, strict: true });
  const { services } = document.toJS() as { readonly services: Readonly<Record<string, Service>> };

  test('has no errors, and three services', () => {
    expect([...document.errors, ...document.warnings]).toEqual([]);
    expect(Object.keys(services)).toEqual(['postgres', 'server', 'worker']);
  });

  test.each(['server', 'worker'])('%s waits for PostgreSQL and has time to stop', (name) => {
    expect(services[name]).toMatchObject({ depends_on: { postgres: { condition: 'service_healthy' } } });
    expect(Number.parseInt(services[name]?.stop_grace_period ?? '', 10)).toBeGreaterThan(GRACE_S);
    expect(services[name]?.environment.COUNTERSIGN_STORE).toMatch(/^postgres:\/\/.*@postgres:5432\//);
  });

  test('a worker publishes no port, and listens where the health check of the image asks', async () => {
    expect(services.worker?.ports).toEqual([]);
    expect(read('Dockerfile')).toContain('PORT=3000');
    expect(services.worker?.command.join(' ')).toContain('--health-port 3000');
    await acceptsOptions(services.worker?.command ?? []);
  });
});

describe('kubernetes.yaml', () => {
  const documents = parseAllDocuments(read('kubernetes.yaml'), { strict: true });
  const manifests = documents.map((document) => document.toJS() as Manifest);
  const deployments = manifests.filter(({ kind }) => kind === 'Deployment');
  const podOf = ({ spec }: Manifest): Pod => spec.template;

  test('has no errors, and each manifest has a version, a kind and a name', () => {
    expect(documents.flatMap(({ errors, warnings }) => [...errors, ...warnings])).toEqual([]);
    expect(manifests.map(({ apiVersion, kind, metadata }) => `${apiVersion} ${kind} ${metadata.name}`)).toEqual([
      'v1 Service approvals',
      'apps/v1 Deployment approvals-server',
      'apps/v1 Deployment approvals-worker',
      'policy/v1 PodDisruptionBudget approvals-server',
    ]);
  });

  test('selectors find their pods', () => {
    for (const deployment of deployments)
      expect(podOf(deployment).metadata.labels).toEqual(deployment.spec.selector.matchLabels);
    const [service, server] = manifests;
    expect(service?.spec.selector).toEqual(server && podOf(server).metadata.labels);
    expect(manifests.at(-1)?.spec.selector.matchLabels).toEqual(server && podOf(server).metadata.labels);
  });

  test('pods have no token of the cluster, few system calls and no privileges', () => {
    for (const { spec } of deployments.map(podOf)) {
      expect(spec).toMatchObject({ automountServiceAccountToken: false });
      for (const container of spec.containers)
        expect(container).toMatchObject({
          securityContext: {
            runAsNonRoot: true,
            seccompProfile: { type: 'RuntimeDefault' },
            allowPrivilegeEscalation: false,
            capabilities: { drop: ['ALL'] },
          },
        });
    }
  });

  test('network policies select the pods: only servers take requests, and egress is limited', () => {
    const policies = parseAllDocuments(read('network-policies.yaml'), { strict: true });
    expect(policies.flatMap(({ errors, warnings }) => [...errors, ...warnings])).toEqual([]);
    const [all, server] = policies.map((document) => document.toJS());
    const labels = manifests[1] && podOf(manifests[1]).metadata.labels;
    expect(labels).toMatchObject(all.spec.podSelector.matchLabels);
    expect(server.spec.podSelector.matchLabels).toEqual(labels);
    expect(all.spec).toMatchObject({ policyTypes: ['Ingress', 'Egress'], egress: [{ ports: expect.any(Array) }] });
    expect(all.spec).not.toHaveProperty('ingress');
    expect(server.spec.ingress).toMatchObject([{ from: [{ namespaceSelector: {} }], ports: [{ port: 'http' }] }]);
  });

  test.each(deployments.map((deployment) => [deployment.metadata.name, podOf(deployment)] as const))(
    '%s has probes on a port that it opens, time to stop, and options that the command line knows',
    async (_name, { spec }) => {
      const [container] = spec.containers;
      if (!container) throw new Error('There is no container.');
      const { livenessProbe, readinessProbe, startupProbe, lifecycle, command, args, ports } = container;
      expect(livenessProbe.httpGet.path).toBe('/healthz');
      expect(startupProbe.httpGet.path).toBe('/healthz');
      expect(readinessProbe.httpGet.path).toBe('/readyz');
      for (const { httpGet } of [livenessProbe, readinessProbe, startupProbe])
        expect(ports.map(({ name }) => name)).toContain(httpGet.port);
      // `/readyz` answers within two seconds, also if the store does not.
      expect(readinessProbe.timeoutSeconds).toBeGreaterThan(2);
      const hookSeconds = Number(lifecycle?.preStop.exec.command[1] ?? 0);
      expect(spec.terminationGracePeriodSeconds).toBeGreaterThan(hookSeconds + 2 * GRACE_S);
      expect(args.join(' ')).toContain('--host 0.0.0.0');
      await acceptsOptions([...command, ...args]);
    },
  );
});

describe('the chart', () => {
  const manifestsOf = (values: Parameters<typeof renderChart>[0] = {}, name?: string) =>
    Object.entries(renderChart(values, name))
      .flatMap(([file, text]) => (file.endsWith('.yaml') ? parseAllDocuments(text, { strict: true }) : []))
      .flatMap((document) => {
        expect([...document.errors, ...document.warnings]).toEqual([]);
        const manifest = document.toJS() as Manifest | null;
        return manifest ? [manifest] : [];
      });
  const byName = (manifests: readonly Manifest[]) =>
    Object.fromEntries(manifests.map((one) => [`${one.kind} ${one.metadata.name}`, one]));
  const documentsOf = (name: string) => parseAllDocuments(read(name)).map((document) => document.toJS() as Manifest);

  test('without values, it is kubernetes.yaml; with network policies, also network-policies.yaml', () => {
    expect(byName(manifestsOf())).toEqual(byName(documentsOf('kubernetes.yaml')));
    const both = [...documentsOf('kubernetes.yaml'), ...documentsOf('network-policies.yaml')];
    expect(byName(manifestsOf({ networkPolicies: { enabled: true } }))).toEqual(byName(both));
  });

  test('values reach the manifests', () => {
    const values = {
      image: 'example.com/mine:2',
      secret: 'keys',
      env: { LOG_LEVEL: 'debug', QUOTED: 'a "b": c' },
      server: { replicas: 3 },
      worker: { replicas: 0, concurrency: 4 },
      ingress: { enabled: true, host: 'ask.example.com', tlsSecret: 'certificate' },
    };
    const found = byName(manifestsOf(values, 'ask')) as Record<string, any>;
    expect(Object.keys(found)).toContain('Ingress ask');
    expect(found['Ingress ask'].spec).toMatchObject({
      tls: [{ hosts: ['ask.example.com'], secretName: 'certificate' }],
      rules: [{ host: 'ask.example.com', http: { paths: [{ backend: { service: { name: 'ask' } } }] } }],
    });
    expect(found['Deployment ask-worker'].spec.replicas).toBe(0);
    for (const part of ['server', 'worker']) {
      const { containers } = found[`Deployment ask-${part}`].spec.template.spec;
      expect(containers[0]).toMatchObject({
        image: 'example.com/mine:2',
        env: expect.arrayContaining([
          { name: 'LOG_LEVEL', value: 'debug' },
          { name: 'QUOTED', value: 'a "b": c' },
        ]),
        envFrom: [{ secretRef: { name: 'keys' } }],
      });
    }
    expect(found['Deployment ask-worker'].spec.template.spec.containers[0].args.join(' ')).toContain('--concurrency 4');
    expect(renderChart(values, 'ask')['templates/NOTES.txt']).toContain('kubectl create secret generic keys');
  });

  test('its schema accepts its values, and refuses wrong ones', () => {
    const schema = z.fromJSONSchema(JSON.parse(read('chart/values.schema.json')));
    const isValid = (values: object) => schema.safeParse(values).success;
    const usual = parseDocument(read('chart/values.yaml')).toJS() as object;
    expect(isValid(usual)).toBe(true);
    for (const wrong of [{ replicas: 2 }, { image: '' }, { server: { replicas: -1 } }, { publicUrl: 'approvals' }])
      expect(isValid({ ...usual, ...wrong })).toBe(false);
  });
});

/** Each option is in the help of its command. */
async function acceptsOptions([program, name = '', ...args]: readonly string[]): Promise<void> {
  expect(program).toBe('node_modules/.bin/countersign');
  const { write } = process.stdout;
  let help = '';
  Object.assign(process.stdout, {
    write: (text: string) => {
      help += text;
      return true;
    },
  });
  try {
    await runCommandLine([name, '--help']);
  } finally {
    Object.assign(process.stdout, { write });
  }
  for (const option of args.filter((arg) => arg.startsWith('--'))) expect(help).toContain(option);
}

type Service = {
  readonly command: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly ports: readonly string[];
  readonly stop_grace_period: string;
};
type Probe = {
  readonly httpGet: { readonly path: string; readonly port: string };
  readonly timeoutSeconds: number;
};
type Container = Readonly<Record<'livenessProbe' | 'readinessProbe' | 'startupProbe', Probe>> & {
  readonly command: readonly string[];
  readonly args: readonly string[];
  readonly ports: readonly { readonly name: string }[];
  readonly lifecycle?: { readonly preStop: { readonly exec: { readonly command: readonly string[] } } };
};
type Pod = {
  readonly metadata: { readonly labels: object };
  readonly spec: { readonly terminationGracePeriodSeconds: number; readonly containers: readonly Container[] };
};
type Manifest = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: { readonly selector: { readonly matchLabels: object }; readonly template: Pod };
};
