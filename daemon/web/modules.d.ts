/** Imports of style sheets, which esbuild bundles. */
declare module '*.css'
