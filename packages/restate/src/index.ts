// The entry point `@countersign/restate`: runs on a Restate cluster.
export {
  type RestateEndpoint,
  type RestateServicesOptions,
  restateServices,
  type ServeRestateOptions,
  serveRestate,
} from './services.ts';
export { type RestateStoreOptions, restateStore } from './store.ts';
