// One issuer as we ask it: its addresses and keys, the code flow, the device flow, the end of its session. The library is loaded with
// the first question.
import { UsageError } from 'countersign';
import type { Configuration, DeviceAuthorizationResponse, TokenEndpointResponse } from 'openid-client';
import type { Issuer } from './issuers.ts';
import type { Claims } from './person-of-claims.ts';

type Library = typeof import('openid-client');

/** What the issuer says about a person. `idToken` has been verified. */
export type Said = {
  readonly idToken: string;
  readonly claims: Claims & { readonly sub: string };
  readonly info: Claims;
  /** Asks the issuer again later, if it gave one. */
  readonly refreshToken: string | undefined;
};

/** Random values of one sign-in. */
export type Secrets = { readonly verifier: string; readonly state: string; readonly nonce: string };

const TIMEOUT_S = 10;
const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';

export class Provider {
  readonly issuer: Issuer;
  #opened: Promise<{ readonly oidc: Library; readonly config: Configuration }> | undefined;

  constructor(issuer: Issuer) {
    this.issuer = issuer;
  }

  /** The address at which a person signs in. */
  async begin(redirectUri: string, { verifier, state, nonce }: Secrets): Promise<string> {
    const { oidc, config } = await this.#open();
    return oidc.buildAuthorizationUrl(config, {
      redirect_uri: redirectUri,
      scope: this.issuer.scope,
      code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      state,
      nonce,
    }).href;
  }

  /** Takes the answer of the issuer: `answer` is the redirect address with what the issuer added. Throws if it is not for this sign-in. */
  async finish(answer: URL, { verifier, state, nonce }: Secrets): Promise<Said> {
    const { oidc, config } = await this.#open();
    const checks = { pkceCodeVerifier: verifier, expectedState: state, expectedNonce: nonce, idTokenExpected: true };
    return this.#said(await oidc.authorizationCodeGrant(config, answer, checks));
  }

  /** Begins the device flow. Throws if the issuer has none. */
  async beginDevice(): Promise<DeviceAuthorizationResponse> {
    const { oidc, config } = await this.#open();
    if (config.serverMetadata().device_authorization_endpoint === undefined) throw noDevices(this.issuer);
    return oidc.initiateDeviceAuthorization(config, { scope: this.issuer.scope });
  }

  /** Asks once whether the person has confirmed the code. `pending` and `slower` mean: ask again later. */
  async finishDevice(deviceCode: string): Promise<Said | 'pending' | 'slower'> {
    const { oidc, config } = await this.#open();
    try {
      return await this.#said(await oidc.genericGrantRequest(config, DEVICE_GRANT, { device_code: deviceCode }));
    } catch (error) {
      const { error: code } = error as { readonly error?: unknown };
      if (code === 'authorization_pending') return 'pending';
      if (code === 'slow_down') return 'slower';
      throw error;
    }
  }

  /**
   * Exchanges a refresh token. `gone`: the issuer has ended what the token came from. The new token counts even if `said` rejects;
   * issuers that do not exchange them send none.
   */
  async renew(
    refreshToken: string,
  ): Promise<'gone' | { readonly refreshToken: string; readonly said: () => Promise<Said> }> {
    const { oidc, config } = await this.#open();
    try {
      const tokens = await oidc.refreshTokenGrant(config, refreshToken);
      return { refreshToken: tokens.refresh_token ?? refreshToken, said: () => this.#said(tokens) };
    } catch (error) {
      if ((error as { readonly error?: unknown }).error === 'invalid_grant') return 'gone';
      throw error;
    }
  }

  /** The address that ends the session of the person at the issuer; undefined if it has none. */
  async endSessionUrl(idToken: string | undefined, returnTo: string): Promise<string | undefined> {
    const { oidc, config } = await this.#open();
    if (config.serverMetadata().end_session_endpoint === undefined) return undefined;
    const hint = idToken === undefined ? {} : { id_token_hint: idToken };
    return oidc.buildEndSessionUrl(config, { ...hint, post_logout_redirect_uri: returnTo }).href;
  }

  /** The address of its keys. */
  async keysUrl(): Promise<string> {
    const { config } = await this.#open();
    const { jwks_uri: keys } = config.serverMetadata();
    if (keys === undefined) throw new Error(`${this.issuer.issuer} names no keys.`);
    return keys;
  }

  async #said(tokens: TokenEndpointResponse & { claims(): object | undefined }): Promise<Said> {
    const { oidc, config } = await this.#open();
    const claims = tokens.claims() as Said['claims'] | undefined;
    if (tokens.id_token === undefined || !claims) throw new Error(`${this.issuer.issuer} sent no ID token.`);
    const hasInfo = config.serverMetadata().userinfo_endpoint !== undefined;
    const info = hasInfo ? await oidc.fetchUserInfo(config, tokens.access_token, claims.sub) : {};
    return { idToken: tokens.id_token, claims, info: info as Claims, refreshToken: tokens.refresh_token };
  }

  #open() {
    this.#opened ??= open(this.issuer).catch((error: unknown) => {
      // The issuer may be reachable later.
      this.#opened = undefined;
      throw error;
    });
    return this.#opened;
  }
}

async function open({ issuer, clientId, clientSecret, insecure }: Issuer) {
  const oidc = await import('openid-client');
  const withSecret: import('openid-client').ClientAuth = (server, ...rest) => {
    const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    const make = methods.includes('client_secret_basic') ? oidc.ClientSecretBasic : oidc.ClientSecretPost;
    return make(clientSecret)(server, ...rest);
  };
  const config = await oidc.discovery(
    new URL(issuer),
    clientId,
    undefined,
    clientSecret === undefined ? oidc.None() : withSecret,
    {
      timeout: TIMEOUT_S,
      // The signature of ID tokens is checked although they come from the issuer itself.
      execute: [oidc.enableNonRepudiationChecks, ...(insecure ? [oidc.allowInsecureRequests] : [])],
    },
  );
  return { oidc, config };
}

function noDevices({ label }: Issuer): UsageError {
  const message =
    `${label} has no device flow, or this client may not use it. Sign in with a browser, or use a token: ` +
    'an operator creates one with `countersign tokens create`.';
  return new UsageError('not-found', { status: 404 }, message);
}
