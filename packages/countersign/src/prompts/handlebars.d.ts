// The file of Handlebars that needs no `require.extensions`, which bundlers refuse; it has no types of its own.
declare module 'handlebars/dist/cjs/handlebars.js' {
  export { default } from 'handlebars';
}
