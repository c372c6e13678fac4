// The stylesheet as text, as Vite and our bundle load it.
declare module '@countersign/react/styles.css?inline' {
  const css: string;
  export default css;
}
