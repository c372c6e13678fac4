// The provider of a model, by the name that OpenTelemetry's conventions for generative AI give it.

/** AI SDK providers, by how their names begin; `vertex` before `google`. */
const PROVIDERS: readonly (readonly [start: string, name: string])[] = [
  ['google.vertex', 'gcp.vertex_ai'],
  ['vertex', 'gcp.vertex_ai'],
  ['google', 'gcp.gemini'],
  ['amazon-bedrock', 'aws.bedrock'],
  ['bedrock', 'aws.bedrock'],
  ['azure', 'azure.ai.openai'],
  ['mistral', 'mistral_ai'],
  ['moonshotai', 'moonshot_ai'],
  ['xai', 'x_ai'],
];

/** Reads a model name such as `openai.responses/gpt-5`. A name without a provider has the provider `_OTHER`. */
export function providerAndModel(name: string): { readonly provider: string; readonly model: string } {
  const slash = name.indexOf('/');
  if (slash === -1) return { provider: '_OTHER', model: name };
  const own = name.slice(0, slash);
  const known = PROVIDERS.find(([start]) => own === start || own.startsWith(`${start}.`));
  // The rest of an AI SDK name is the API, as in `openai.responses`.
  return { provider: known?.[1] ?? own.split('.')[0] ?? own, model: name.slice(slash + 1) };
}
