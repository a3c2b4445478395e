import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { useCommandCards } from '../support/agents/commandCards.ts'
import { git, write } from '../git/cards.ts'
import { hasSandbox } from '../git/sandboxSession.ts'
import { endRace, listContent, race } from '../support/sandbox/race.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { attempt, maxRaceMs, rounds, secret } from './racedCards.ts'

vi.setConfig({ testTimeout: maxRaceMs })
afterEach(() => endRace())

describe.skipIf(!hasSandbox)('while a sandboxed program swaps the folder of the commands of a worktree', () => {
  const used = useCommandCards('require')
  /** Creates a project whose commands run in a folder of the worktree, and cards in it that swap this folder with a link. */
  const prepare = async (commands: { preview?: string; cleanup?: string }) => {
    const { board, cards } = used
    const project = await cards.project(path => {
      write(path, 'work/inner/file', 'committed\n')
      git(path, 'add', '-A')
      git(path, 'commit', '-qm', 'Add a folder')
    })
    const outside = board.folder(`outside-of-${project.projectId}`)
    write(outside, 'inner/file', secret)
    const { client } = board
    await client.projects.update({ id: project.projectId, worktree: { subfolder: 'work/inner', ...commands } })
    const start = async () => {
      const { id } = await cards.run(project, 'true')
      const folder = join(board.path, '../data/worktrees', project.projectId, id)
      symlinkSync(outside, join(folder, 'work-link'))
      await race(folder, folder, 'work', 'work-link')
      return { projectId: project.projectId, cardId: id }
    }
    const repeat = async (operation: () => Promise<unknown>) => {
      const before = listContent(outside)
      const said: string[] = []
      while (said.length < rounds) said.push(await attempt(operation))
      endRace()
      expect(said.filter(each => each.includes(secret))).toEqual([])
      expect(listContent(outside)).toEqual(before)
    }
    return { client, start, repeat }
  }

  test('a preview reads and writes nothing outside', async () => {
    const { client, start, repeat } = await prepare({ preview: 'cat file; echo written > file' })
    const place = await start()
    await repeat(async () => {
      await client.previews.start(place)
      return eventually('the end of the preview', async () => {
        const preview = await client.previews.get(place)
        return preview.status === 'failed' ? preview : undefined
      })
    })
  })

  test('a cleanup writes nothing outside', async () => {
    const { client, start, repeat } = await prepare({ cleanup: 'cat file; echo written > file' })
    await repeat(async () => {
      const place = await start()
      return client.cards.detachWorktree({ ...place, remove: true }).finally(endRace)
    })
  })
})
