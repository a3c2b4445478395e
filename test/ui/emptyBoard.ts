import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest'
import type { TestTerminal } from '../support/terminals/terminal.ts'
import { startWorld, type World } from './world.ts'

/** The shared state of a file's tests: a world, and the last opened terminal. */
export let world: World
export let terminal: TestTerminal

/** Creates a world for the tests of a file, in which each starts without cards, and ends its terminal. */
export function useEmptyBoard(): void {
  beforeAll(async () => {
    world = await startWorld()
  })
  afterAll(() => world.close())
  beforeEach(async () => {
    for (const columnId of Object.values(world.columns))
      await world.server.client.columns.clear({ projectId: world.projectId, columnId })
  })
  afterEach(() => terminal?.close())
}

export const open = async (options?: Parameters<World['open']>[0]): Promise<void> => {
  terminal = await world.open(options)
}

/** The line that contains a text. */
export const line = (text: string): string => terminal.lines().find(each => each.includes(text)) ?? ''
