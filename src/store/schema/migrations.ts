import { schema } from './schema.ts'

/** Every migration in order. The first one creates the schema of 0.2.0. A migration that was released never changes. */
export const migrations: readonly string[] = [schema]
