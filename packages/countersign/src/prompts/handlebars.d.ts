// The Handlebars build without `require.extensions`, which bundlers reject; it ships no types.
declare module 'handlebars/dist/cjs/handlebars.js' {
  export { default } from 'handlebars';
}
