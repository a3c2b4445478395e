import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { diffFiles } from '../../src/contract/forges/diffFiles.ts'
import { useCommandCards } from '../support/agents/commandCards.ts'
import { sandboxes } from '../support/sandbox/bubblewrap.ts'

const git = (path: string, args: readonly string[], input?: Buffer) =>
  execFileSync('git', ['-C', path, ...args], { input, encoding: 'latin1' })

/** A name as octal escapes of printf, as in Git's output, and as latin1 text with one character per byte. */
const names: ReadonlyArray<[what: string, printf: string, shown: string, bytes: string]> = [
  ['in Latin-1', 'm\\374ller', 'm\\374ller', 'm\xfcller'],
  ['in Latin-1 next to UTF-8', '\\303\\274\\374', 'ü\\374', '\xc3\xbc\xfc'],
  ['in a folder in Latin-1', 'd\\334/a', 'd\\334/a', 'd\xdc/a'],
  ['of the beginning of a character', 'a\\342\\202', 'a\\342\\202', 'a\xe2\x82'],
  ['of bytes that are never UTF-8', '\\376\\377', '\\376\\377', '\xfe\xff'],
  ['of a file with a line break', 'a\\nb\\374', 'a\nb\\374', 'a\nb\xfc'],
  ['in UTF-8 with a quote', 'ü"', 'ü"', '\xc3\xbc"'],
]

describe.each(sandboxes)('with --sandbox %s', sandbox => {
  const on = useCommandCards(sandbox)

  describe.each(names)('a name %s', (_, printf, shown, bytes) => {
    const file = `F=$(printf '${printf}.'); F="\${F%.}"; mkdir -p "$(dirname "$F")"`
    const newProject = () =>
      on.cards.project(path => {
        execFileSync('sh', ['-c', `${file}; echo one > "$F"`], { cwd: path })
        git(path, ['add', '.'])
        git(path, ['commit', '-qm', 'Name'])
      })

    test('is in the diff, which can be applied, and in the merge', async () => {
      const project = await newProject()
      const card = await on.cards.run(project, `${file}; echo two >> "$F"; echo b >> a.txt`)
      const diff = await on.cards.diff(project, card)
      expect(diffFiles(diff).map(({ path }) => path)).toEqual(expect.arrayContaining([shown, 'a.txt']))
      git(project.path, ['apply', '--check', '-'], Buffer.from(diff))
      const place = { projectId: project.projectId, cardId: card.id }
      const { content } = await on.board.client.reviews.changedFile({ ...place, path: shown })
      expect(Buffer.from(content, 'base64').toString()).toBe('one\ntwo\n')
      await on.cards.merge(project, card)
      expect(
        git(project.path, ['-c', 'core.quotePath=false', 'show', '-z', '--format=', '--name-only', 'HEAD^2']),
      ).toContain(bytes)
      expect(git(project.path, ['status', '--short'])).toBe('')
    })

    test('is in the message of a conflict', async () => {
      const project = await newProject()
      const card = await on.cards.run(project, `${file}; echo two >> "$F"`)
      execFileSync('sh', ['-c', `${file}; echo other >> "$F"; git commit -qam Other`], { cwd: project.path })
      await expect(on.cards.merge(project, card)).rejects.toMatchObject({
        code: 'MERGE_CONFLICT',
        message: expect.stringContaining(shown),
      })
    })

    test('is in the patch of a card that is deleted with force', async () => {
      const project = await newProject()
      const card = await on.cards.run(project, `${file}; echo two >> "$F"; git rm -q a.txt`)
      const place = { projectId: project.projectId, cardId: card.id }
      await expect(on.board.client.cards.delete(place)).rejects.toMatchObject({ code: 'WORKTREE_DIRTY' })
      await on.board.client.cards.delete({ ...place, force: true })
      const patches = join(on.board.path, '../data/patches')
      const [patch] = readdirSync(patches).filter(name => name.startsWith(`card-${card.id}-`))
      git(project.path, ['apply', '--index', '-'], readFileSync(join(patches, patch!)))
      expect(git(project.path, ['diff', '--cached', '-z', '--name-only'])).toContain(bytes)
    })
  })

  test('a repository in a folder whose name is not UTF-8 keeps the card', async () => {
    const project = await on.cards.project(path => writeFileSync(join(path, 'b.txt'), 'b\n'))
    const card = await on.cards.run(project, `F=$(printf 'n\\374'); git init -q "$F"; touch "$F/file"`)
    await expect(on.board.client.cards.delete({ projectId: project.projectId, cardId: card.id })).rejects.toMatchObject(
      {
        code: 'WORKTREE_DIRTY',
      },
    )
  })
})
