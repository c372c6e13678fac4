// Components for TypeScript, which does not read them.
declare module '*.vue' {
  const component: import('vue').Component;
  export default component;
}
