import type { Client } from '../../src/client/index.ts'
import { exitOf, Failure } from '../failures/failure.ts'

/** The dependencies of a search in other projects. A command's Context provides them. */
interface Context {
  client: Client
  external: boolean
}

/** Returns the error for a record of another project. IDs are unique per server, so a typing error could select such a record. */
export async function belongsElsewhere(
  { client }: Pick<Context, 'client'>,
  what: string,
  projectId: string,
): Promise<Failure> {
  const name = (await client.projects.list()).find(({ id }) => id === projectId)?.name ?? projectId
  return new Failure('notFound', `${what} belongs to project "${name}"`, {
    hint: `to use that project: -P ${/^[\w.-]+$/.test(name) ? name : projectId}`,
    see: 'board projects list',
  })
}

/**
 * Runs an action on the record that an ID identifies in a project. If the project does not have the record, searches
 * the caller's other projects. An API key cannot view other projects.
 * @throws Failure (not found) with the name of the project that has it
 */
export async function orElsewhere<T>(
  context: Context,
  { kind, id, projectId }: { kind: string; id: string; projectId: string },
  isIn: (projectId: string) => Promise<boolean>,
  action: () => T | Promise<T>,
): Promise<T> {
  try {
    return await action()
  } catch (error) {
    if (context.external || !/^[1-9]\d{0,15}$/.test(id) || exitOf(error) !== 'notFound') throw error
    for (const other of await context.client.projects.list())
      if (other.id !== projectId && (await isIn(other.id).catch(isHidden)))
        throw await belongsElsewhere(context, `${kind} ${id}`, other.id)
    throw error
  }
}

function isHidden(error: unknown): false {
  const exit = exitOf(error)
  if (exit === 'notFound' || exit === 'denied') return false
  throw error
}
