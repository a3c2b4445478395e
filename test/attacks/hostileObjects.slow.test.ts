import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { deflateSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createSandbox } from '../../src/sandbox/sandbox.ts'
import { compareWorktree } from '../../src/worktrees/compareWorktree.ts'
import { worktreeOf } from '../../src/worktrees/findWorktree.ts'
import { findProjectRepository } from '../../src/git/checkoutState.ts'
import { receiveObjects } from '../../src/worktrees/receiveObjects.ts'
import { createWorktrees } from '../../src/worktrees/worktrees.ts'
import { environment, git, openProjects, unrecorded, type TestProject } from '../git/cards.ts'
import { hasSandbox } from '../git/sandboxSession.ts'

let projects: Awaited<ReturnType<typeof openProjects>>
let project: TestProject
beforeAll(async () => {
  projects = await openProjects()
  project = await projects.project('hostile')
})
afterAll(() => projects.close())

const input = (text: string, ...args: string[]) =>
  execFileSync('git', ['-C', project.path, ...args], { input: text, encoding: 'utf8', env: environment }).trim()

describe('a pack with a delta of a few bytes for an object of many gigabytes', () => {
  const mebibyte = 1024 * 1024
  const base = Buffer.alloc(8 * mebibyte)
  /** The size of an object in a pack: four bits next to the type, then seven each. */
  const head = (type: number, size: number): Buffer => {
    const bytes = [(type << 4) | (size & 15)]
    for (let rest = Math.floor(size / 16); rest > 0; rest = Math.floor(rest / 128)) {
      bytes[bytes.length - 1]! |= 128
      bytes.push(rest % 128)
    }
    return Buffer.from(bytes)
  }
  const varint = (size: number): number[] =>
    size < 128 ? [size] : [(size % 128) | 128, ...varint(Math.floor(size / 128))]
  /** A delta that copies the whole base repeatedly. */
  const delta = (times: number): Buffer =>
    Buffer.from([
      ...varint(base.length),
      ...varint(base.length * times),
      ...Array.from({ length: times }, () => [0x80 | 0x40, base.length / 65_536]).flat(),
    ])

  const packOf = (times: number): Buffer => {
    const content = delta(times)
    const name = createHash('sha1').update(`blob ${base.length}\0`).update(base).digest()
    const body = Buffer.concat([
      Buffer.from('PACK\0\0\0\x02\0\0\0\x02', 'latin1'),
      head(3, base.length),
      deflateSync(base),
      head(7, content.length),
      name,
      deflateSync(content),
    ])
    return Buffer.concat([body, createHash('sha1').update(body).digest()])
  }
  const receive = async (times: number): Promise<string> => {
    const known = git(project.path, 'rev-parse', 'HEAD')
    const incoming = receiveObjects(`${project.path}/.git`, projects.folder, known)
    try {
      await incoming.write(packOf(times))
      return await incoming.accept(known, 'commit').then(
        () => 'accepted',
        (error: Error) => error.message,
      )
    } finally {
      await incoming.close()
    }
  }

  test('is rejected before Git allocates the memory', async () => {
    expect(await receive(2)).toBe('accepted')
    expect(await receive(300)).toMatch(/attempting to allocate .* over limit/)
  })
})

describe.skipIf(!hasSandbox)('a commit whose trees contain each other ten times', () => {
  test('fails a comparison with the reason, when Git has used the memory that it can use', async () => {
    const worktrees = createWorktrees(createSandbox({ mode: 'auto' }), 256)
    try {
      const card = await project.card()
      const { cwd } = await card.start()
      let entry = `100644 blob ${input('', 'hash-object', '-w', '--stdin')}`
      for (let level = 0; level < 7; level++) {
        const entries = Array.from({ length: 10 }, (_, index) => `${entry}\t${index}\n`)
        entry = `040000 tree ${input(entries.join(''), 'mktree')}`
      }
      const tree = entry.split(' ')[2]!
      const bomb = input('', 'commit-tree', tree, '-p', git(cwd, 'rev-parse', 'HEAD'), '-m', 'Work')
      git(cwd, 'update-ref', 'HEAD', bomb)
      const repository = (await findProjectRepository(unrecorded(project.path)))!
      const place = (await worktreeOf(repository, cwd))!
      await expect(compareWorktree(worktrees, place, null, { stores: true })).rejects.toMatchObject({
        code: 'CONFLICT',
        message: 'Git requires more memory to compare the files than it can use.',
      })
    } finally {
      await worktrees.close()
    }
  }, 120_000)
})
