import { execFile, execFileSync } from 'node:child_process'
import { appendFileSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { useCommandCards, type CommandCard, type CommandProject } from '../support/agents/commandCards.ts'
import { startLargeFileServer } from '../support/git/largeFileServer.ts'
import { reportSkipped } from '../support/run/reportSkipped.ts'
import { sandboxes } from '../support/sandbox/bubblewrap.ts'

const git = (path: string, ...args: string[]) => execFileSync('git', ['-C', path, ...args], { encoding: 'utf8' })
const hasLfs = (() => {
  try {
    execFileSync('git', ['lfs', 'version'], { stdio: 'ignore' })
    return true
  } catch {
    reportSkipped('Git LFS', 'git-lfs is not installed.')
    return false
  }
})()

describe.each(sandboxes)('with --sandbox %s', sandbox => {
  const on = useCommandCards(sandbox)
  let path: string

  const newProject = (prepare: (path: string) => void) =>
    on.cards.project(folder => {
      path = folder
      prepare(folder)
      git(folder, 'add', '.')
      git(folder, 'commit', '-qm', 'Filtered')
    })

  describe.skipIf(!hasLfs)('a repository with Git LFS', () => {
    const withLfs = (folder: string) => {
      writeFileSync(join(folder, '.gitattributes'), '*.bin filter=lfs diff=lfs merge=lfs -text\n')
      writeFileSync(join(folder, 'large.bin'), 'large\n'.repeat(500))
      writeFileSync(join(folder, 'a.txt'), 'a\n')
    }

    test('the diff and the merge contain only a change of another file', async () => {
      const place = await newProject(withLfs)
      const card = await on.cards.run(place, 'wc -l large.bin; git status --short; echo b >> a.txt')
      expect(card).toMatchObject({ status: 'completed', said: expect.stringContaining('500 large.bin') })
      expect(await on.cards.diff(place, card)).not.toContain('large.bin')
      await on.cards.merge(place, card)
      expect(readFileSync(join(path, 'a.txt'), 'utf8')).toBe('a\nb\n')
      expect(git(path, 'status', '--short')).toBe('')
    })

    test.each([
      ['committed', 'echo new > new.bin; git add new.bin; git commit -qm New'],
      ['staged', 'echo new > new.bin; git add new.bin'],
      ['neither', 'echo new > new.bin'],
    ])('a large file of a card (%s) is in the repository after the merge', async (_, command) => {
      const place = await newProject(withLfs)
      const card = await on.cards.run(place, command)
      await on.cards.merge(place, card)
      expect(readFileSync(join(path, 'new.bin'), 'utf8')).toBe('new\n')
      expect(git(path, 'show', 'HEAD:new.bin')).toContain('oid sha256:')
      expect(git(path, 'lfs', 'fsck')).toContain('OK')
      expect(git(path, 'status', '--short')).toBe('')
    })

    test.skipIf(sandbox === 'off')('a forged large file does not come out', async () => {
      const place = await newProject(withLfs)
      const card = await on.cards.run(
        place,
        'echo new > new.bin; git add new.bin; git commit -qm New; for F in $(find "$(git rev-parse --git-common-dir)/lfs/objects" -type f); do chmod u+w $F; echo bad > $F; done',
      )
      await expect(on.cards.merge(place, card)).rejects.toMatchObject({
        code: 'CONFLICT',
        message: expect.stringContaining('does not match its name'),
      })
      expect(existsSync(join(path, 'new.bin'))).toBe(false)
    })
  })

  describe.skipIf(!hasLfs)('a remote with large files', () => {
    const withRemote = (kind: 'bare' | 'other', prepare = (_remote: string) => {}) =>
      newProject(folder => {
        const remote = `${folder}-${kind}`
        execFileSync('git', ['init', '-q', ...(kind === 'bare' ? ['--bare'] : []), remote])
        writeFileSync(join(folder, '.gitattributes'), '*.bin filter=lfs diff=lfs merge=lfs -text\n')
        writeFileSync(join(folder, 'large.bin'), 'large\n'.repeat(500))
        git(folder, 'remote', 'add', 'origin', remote)
        prepare(folder)
      })
    const storeOf = (kind: 'bare' | 'other') => join(`${path}-${kind}`, kind === 'bare' ? 'lfs' : '.git/lfs')
    // A server in this process responds.
    const pushAll = () => promisify(execFile)('git', ['-C', path, 'lfs', 'push', '--all', 'origin'])
    const withoutStore = () => rmSync(join(path, '.git/lfs/objects'), { recursive: true })
    const push = ({ projectId }: CommandProject, { id }: CommandCard) =>
      on.board.client.branches.push({ projectId, cardId: id })
    const id = (file: string) => /sha256:(\w+)/.exec(git(path, 'show', file))![1]!

    test.each(['bare', 'other'] as const)(
      'in a folder (%s) supplies missing files and receives new ones',
      async kind => {
        const place = await withRemote(kind)
        await pushAll()
        withoutStore()
        const card = await on.cards.run(place, 'wc -l large.bin; echo new > new.bin; git add .; git commit -qm New')
        expect(card).toMatchObject({ status: 'completed', said: expect.stringContaining('500 large.bin') })
        const { branch } = await push(place, card)
        const name = id(`${branch}:new.bin`)
        expect(readFileSync(join(storeOf(kind), 'objects', name.slice(0, 2), name.slice(2, 4), name), 'utf8')).toBe(
          'new\n',
        )
      },
    )

    test('on a server supplies missing files and receives new ones', async () => {
      const server = await startLargeFileServer()
      try {
        const place = await withRemote('bare', folder => git(folder, 'config', 'lfs.url', server.url))
        await pushAll()
        withoutStore()
        const card = await on.cards.run(place, 'wc -l large.bin; echo new > new.bin; git add .; git commit -qm New')
        expect(card).toMatchObject({ status: 'completed', said: expect.stringContaining('500 large.bin') })
        const { branch } = await push(place, card)
        expect(server.files.get(id(`${branch}:new.bin`))?.toString()).toBe('new\n')
      } finally {
        await server.close()
      }
    })

    test('that lacks the files stops the start, with the reason', async () => {
      const place = await withRemote('bare')
      withoutStore()
      const card = await on.cards.run(place, 'true')
      expect(card).toMatchObject({ status: 'failed' })
      expect(card.said).toContain('A large file of Git LFS is missing and could not be fetched')
    })

    test('is not used at an address that a commit names', async () => {
      const server = await startLargeFileServer()
      try {
        const place = await withRemote('bare', folder =>
          writeFileSync(join(folder, '.lfsconfig'), `[lfs]\n\turl = ${server.url}\n`),
        )
        await pushAll()
        expect(server.files.size).toBe(1)
        withoutStore()
        expect(await on.cards.run(place, 'true')).toMatchObject({ status: 'failed' })
      } finally {
        await server.close()
      }
    })
  })

  describe('a filter that only the repository defines', () => {
    const withFilter = (folder: string) => {
      git(folder, 'config', 'filter.rot.clean', `touch ${folder}-ran; tr a-z n-za-m`)
      git(folder, 'config', 'filter.rot.smudge', `touch ${folder}-ran; tr a-z n-za-m`)
      git(folder, 'config', 'filter.rot.required', 'true')
      writeFileSync(join(folder, '.gitattributes'), 'secret filter=rot\n')
      writeFileSync(join(folder, 'secret'), 'hello\n')
      writeFileSync(join(folder, 'a.txt'), 'a\n')
    }
    const ran = () => existsSync(`${path}-ran`)
    const forget = () => execFileSync('rm', ['-f', `${path}-ran`])

    test('does not run for a card, and a change of another file is merged', async () => {
      const place = await newProject(withFilter)
      forget()
      const card = await on.cards.run(
        place,
        'cat secret; echo b >> a.txt; touch secret; git add .; git commit -qm Work; git show --stat',
      )
      expect(card.said).toContain('uryyb')
      expect(await on.cards.diff(place, card)).not.toContain('secret')
      await on.cards.merge(place, card)
      expect(readFileSync(join(path, 'secret'), 'utf8')).toBe('hello\n')
      expect(ran()).toBe(false)
      expect(git(path, 'status', '--short')).toBe('')
    })

    test.each([
      ['committed', 'echo other > secret; git commit -qam Other'],
      ['not committed', 'echo other > secret'],
      ['committed without the attribute', 'rm .gitattributes; echo other > secret; git commit -qam Other'],
    ])('leaves a change of its file (%s) to a user', async (_, command) => {
      const place = await newProject(withFilter)
      forget()
      const card = await on.cards.run(place, command)
      await expect(on.cards.merge(place, card)).rejects.toMatchObject({
        code: 'CONFLICT',
        message: expect.stringMatching(/A person must merge this card: it changes .*secret/),
      })
      expect(readFileSync(join(path, 'secret'), 'utf8')).toBe('hello\n')
      expect(ran()).toBe(false)
    })

    test("prevents an agent in the project's folder from committing files that the filter hides", async () => {
      const place = await newProject(withFilter)
      forget()
      appendFileSync(join(path, 'secret'), 'more\n')
      const card = await on.cards.run(place, 'git add secret && touch added', { useWorktree: false })
      expect(card.said).toContain('secret')
      expect(existsSync(join(path, 'added'))).toBe(false)
      expect(git(path, 'log', '--format=%s', '-1')).toBe('Filtered\n')
      expect(ran()).toBe(false)
    })
  })
})
