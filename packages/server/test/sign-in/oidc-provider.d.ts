// What the tests use of the package, which has no types of its own.
declare module 'oidc-provider' {
  export default class Provider {
    constructor(issuer: string, configuration: object);
    callback(): import('node:http').RequestListener;
    readonly Client: { find(id: string): Promise<{ backchannelLogout(sub: string, sid?: string): Promise<void> }> };
    readonly RefreshToken: { find(value: string): Promise<object | undefined> };
    use(middleware: (context: any, next: () => Promise<void>) => Promise<void>): void;
    on(event: string, listener: (...values: any[]) => void): void;
  }
}
