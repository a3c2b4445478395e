import type { Command } from 'commander'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { inTurn, type CommandLine } from './commandLine.ts'
import type { Ran } from './commandWorker.ts'
import { nameOf, wordsOf, type Named } from './commandWords.ts'
import type { TestBoard } from '../servers/testBoard.ts'
import { preparations } from '../contract/preparations.ts'
import { monitored, seed } from '../contract/seed.ts'

/** The result of a command line, with the name of its command. */
export type Result = Ran & { name: string }

/** Commands that need no server. Other tests cover their effects. */
export const local =
  /^(auth token|completion|config|help|profile|serve|server|version|doctor|database move|backups (verify|restore)|cards checkout)\b/
/** The commands below another one that perform an action. */
export const leaves = (command: Command): Command[] =>
  command.commands.length > 0 ? command.commands.flatMap(leaves) : [command]

/** A project with one of everything, and files. */
export async function everything(board: TestBoard): Promise<Named> {
  const seeded = await seed(board)
  const folder = board.folder(`files-${seeded.projectId}`)
  mkdirSync(join(folder, 'saved'))
  writeFileSync(join(folder, 'notes.txt'), 'Notes.\n')
  writeFileSync(join(folder, 'invitation.txt'), seeded.invitationToken)
  writeFileSync(join(folder, 'tasks.md'), '# Doing\n- [ ] One\n')
  await preparations['backups.download']!(board, seeded)
  seeded.monitorId = await monitored(board, { projectId: seeded.projectId, cardId: seeded.activeCardId }, 'pending')
  return {
    ...seeded,
    file: join(folder, 'notes.txt'),
    invitation: join(folder, 'invitation.txt'),
    markdown: join(folder, 'tasks.md'),
    folder: join(folder, 'saved'),
  }
}

/** Runs one command line per command, sequentially in one process. */
export async function eachInTurn(
  cli: CommandLine,
  chosen: readonly Command[],
  more: readonly string[],
  things: Named,
  isMeant = (_word: string): boolean => true,
): Promise<Result[]> {
  const lines = chosen.map(command => [...wordsOf(command, things).filter(isMeant), ...more])
  const ended = await inTurn(cli, lines)
  return chosen.map((command, at) => ({ name: nameOf(command), ...ended[at]! }))
}

/** Expects errors as short lines on stderr that start with the program's name, and no stack traces. */
export function expectTidy({ name, code, stdout, stderr }: Result): void {
  expect(`${stdout}${stderr}`, name).not.toMatch(
    /^\s+at .+:\d+:\d+|node:internal|\[object Object\]|\bundefined\b|\u001b/m,
  )
  if (code === 0) return
  expect(stderr, name).toMatch(/^board: /m)
  expect(stderr.split('\n').length, name).toBeLessThan(6)
}
