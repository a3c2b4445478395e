/** What the build makes of files that are no code. */
declare module '*.css'
