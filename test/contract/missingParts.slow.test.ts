import { renameSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { exampleOf, requestOf, rows, tokenFor, type Row } from '../support/contract/examples.ts'
import type { TestBoard } from '../support/servers/testBoard.ts'
import { preparations } from '../support/contract/preparations.ts'
import { seed, startSlotlessBoard, type Seed } from '../support/contract/seed.ts'

/** Rows that are rejected even if nothing is missing, because agents get no slot here and there are no accounts, or that depend on the start of a script. */
const others = [
  'members.update',
  'members.remove',
  'members.renewInvitation',
  'members.removeInvitation',
  'projects.reorder',
  'agents.relay',
  'agents.approvePlan',
  'scripts.cancel',
]
const withoutFolder = {
  'projects.create': 'PATH_NOT_FOUND',
  'projects.update': 'PATH_NOT_FOUND',
  'projects.files': 'NOT_A_GIT_REPOSITORY',
  'projects.agreeToBoardFile': 'CONFLICT',
  'cards.attachWorktree': 'NOT_A_GIT_REPOSITORY',
  'agents.diff': 'NOT_A_GIT_REPOSITORY',
  'reviews.changedFile': 'NOT_A_GIT_REPOSITORY',
  'agents.merge': 'NOT_A_GIT_REPOSITORY',
  'landings.add': 'NOT_A_GIT_REPOSITORY',
  'branches.checkMerge': 'NOT_A_GIT_REPOSITORY',
  'branches.push': 'NOT_A_GIT_REPOSITORY',
  'branches.update': 'NOT_A_GIT_REPOSITORY',
  'issues.sync': 'FORGE_NOT_CONFIGURED',
  'pullRequests.close': 'NOT_A_GIT_REPOSITORY',
  'pullRequests.create': 'NOT_A_GIT_REPOSITORY',
  'pullRequests.draft': 'NOT_A_GIT_REPOSITORY',
  'pullRequests.merge': 'NOT_A_GIT_REPOSITORY',
  'filesystem.browse': 'PATH_OUTSIDE_ROOTS',
  'filesystem.read': 'PATH_OUTSIDE_ROOTS',
  'monitors.create': 'MONITOR_CWD_INVALID',
}
const withoutGit = {
  'projects.files': 'CONFLICT',
  'agents.diff': 'CONFLICT',
  'reviews.changedFile': 'CONFLICT',
  'agents.merge': 'CONFLICT',
  'landings.add': 'CONFLICT',
  'proofs.check': 'CONFLICT',
  'branches.checkMerge': 'CONFLICT',
  'branches.push': 'CONFLICT',
  'branches.update': 'CONFLICT',
  'branches.repositories': 'CONFLICT',
  'issues.sync': 'FORGE_NOT_CONFIGURED',
  'projects.create': 'CONFLICT',
  'projects.update': 'CONFLICT',
  'pullRequests.close': 'CONFLICT',
  'pullRequests.create': 'CONFLICT',
  'pullRequests.draft': 'CONFLICT',
  'pullRequests.merge': 'CONFLICT',
  'previews.start': 'CONFLICT',
}
/** Every row about a project or a folder. */
const concerned = rows.filter(
  ({ name, route }) =>
    !others.includes(name) &&
    (['member', 'key', 'agent'].includes(route.who.kind) || /^(filesystem|projects|search|transfers)\./.test(name)),
)
const seedsAtOnce = 8

let board: TestBoard
let usualPath: string | undefined
beforeAll(async () => {
  board = await startSlotlessBoard()
  usualPath = process.env.PATH
})
afterAll(() => board.close())

/** Sends the example of each of the rows, prepared with all parts present, while a part is missing. Returns the rejected rows with their errors. */
async function refusedWithout(
  remove: (seed: Seed) => () => void,
  which = concerned,
): Promise<Record<string, string | undefined>> {
  const shared = await seed(board)
  const calls: Array<{ row: Row; fresh: Seed }> = []
  for (let at = 0; at < which.length; at += seedsAtOnce) {
    calls.push(
      ...(await Promise.all(
        which
          .slice(at, at + seedsAtOnce)
          .map(async row => ({ row, fresh: row.route.method === 'GET' ? shared : await seed(board) })),
      )),
    )
  }
  for (const { row, fresh } of calls) await preparations[row.name]?.(board, fresh)
  const bringBack = remove(calls[0]!.fresh)
  try {
    return Object.fromEntries(
      (await Promise.all(calls.map(({ row, fresh }) => refusalOf(row, fresh)))).filter(
        ([, code]) => code !== undefined,
      ),
    )
  } finally {
    bringBack()
  }
}

async function refusalOf(row: Row, fresh: Seed): Promise<[string, string | undefined]> {
  const example = exampleOf(row, fresh)
  const { path, options } = requestOf(row.route, example)
  const { status, body, text } = await board.request(row.route.method, path, {
    token: tokenFor(row, fresh),
    ...options,
  })
  if (status < 300) return [row.name, undefined]
  // The response can contain the requested path, and no other one.
  const toldBesides = typeof example.path === 'string' ? text.replaceAll(example.path, '') : text
  expect(toldBesides).not.toMatch(/board-test-|board-slotless-|node_modules/)
  return [row.name, status < 500 ? body.error.code : text]
}

function away(path: string): () => void {
  renameSync(path, `${path}.away`)
  return () => renameSync(`${path}.away`, path)
}

test("without a project's folder every route works that does not need it, and the others report the missing folder", async () => {
  expect(await refusedWithout(({ path }) => away(path))).toEqual(withoutFolder)
})

test("without a card's worktree, which a user removed by hand, only attaching it again fails", async () => {
  const ofCards = concerned.filter(({ name }) => /^(cards|agents|monitors|external)\./.test(name))
  expect(await refusedWithout(({ worktree }) => away(worktree), ofCards)).toEqual({
    'cards.attachWorktree': 'PATH_NOT_FOUND',
  })
})

test('without Git every route works that does not need it, and the others report it', async () => {
  expect(
    await refusedWithout(
      () => {
        process.env.PATH = board.folder('empty')
        return () => {
          process.env.PATH = usualPath
        }
      },
      // A review and an attached worktree need no Git if the server has read the repository's configuration since it changed.
      concerned.filter(
        ({ name }) => !/^(columns|webhooks|members|panelStates)\.|^(reviews\.create|cards\.attachWorktree)$/.test(name),
      ),
    ),
  ).toEqual(withoutGit)
})

test('with everything restored, everything works again, and unchanged files of a card are not found', async () => {
  expect(
    await refusedWithout(
      () => () => {
        /* Nothing is missing. */
      },
      concerned.filter(({ name }) => Object.hasOwn(withoutFolder, name)),
    ),
  ).toEqual({
    'reviews.changedFile': 'FILE_NOT_FOUND',
    'issues.sync': 'FORGE_NOT_CONFIGURED',
    'pullRequests.close': 'FORGE_NOT_CONFIGURED',
    'pullRequests.create': 'FORGE_NOT_CONFIGURED',
    'pullRequests.draft': 'FORGE_NOT_CONFIGURED',
    'pullRequests.merge': 'FORGE_NOT_CONFIGURED',
  })
})
