import manifest from '../../package.json' with { type: 'json' }

/** This program's version, as its package has it. */
export const { version } = manifest
