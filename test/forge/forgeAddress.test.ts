import { describe, expect, test } from 'vitest'
import { forgeAddressOf, forgeKindOf, webUrlOf } from '../../src/forge/forgeAddress.ts'

const github = { provider: 'github', baseUrl: null }
const at = (baseUrl: string, provider = 'gitea') => ({ provider, baseUrl })
const ofGithub = { kind: 'github', apiUrl: 'https://api.github.com', webUrl: 'https://github.com', repository: 'o/r' }

describe('the forge of a remote', () => {
  test.each([
    'https://github.com/o/r.git',
    'https://github.com/o/r/',
    'https://someone@github.com/o/r',
    'git@github.com:o/r.git',
    'ssh://git@ssh.github.com:443/o/r.git',
    'github.com:o/r',
  ])('is GitHub for %s', url => {
    expect(forgeKindOf(null, undefined, url)).toBe('github')
    expect(forgeAddressOf('github', github, url)).toEqual(ofGithub)
  })

  test.each([
    ['gitlab', 'git@gitlab.com:group/sub/name.git', 'gitlab', null, 'https://gitlab.com/api/v4', 'group/sub/name'],
    ['gitea', 'https://codeberg.org/o/r.git', 'gitea', 'https://codeberg.org', 'https://codeberg.org/api/v1', 'o/r'],
    ['gitlab', 'https://git.example/team/r', 'gitlab', 'https://git.example/', 'https://git.example/api/v4', 'team/r'],
    ['gitea', 'https://h.example/git/o/r', 'gitea', 'https://h.example/git', 'https://h.example/git/api/v1', 'o/r'],
    ['gitea', 'ssh://git@h.example:2222/o/r', 'gitea', 'https://h.example/git', 'https://h.example/git/api/v1', 'o/r'],
    ['github', 'git@ghe.example:o/r', 'github', 'https://ghe.example/api/v3', 'https://ghe.example/api/v3', 'o/r'],
    ['gitea', 'http://127.0.0.1:3000/o/r', 'gitea', 'http://127.0.0.1:3000', 'http://127.0.0.1:3000/api/v1', 'o/r'],
  ] as const)('is %s for %s', (kind, remote, provider, baseUrl, apiUrl, repository) => {
    expect(forgeAddressOf(kind, { provider, baseUrl }, remote)).toMatchObject({ kind, apiUrl, repository })
  })

  test.each([
    'https://github.com.attacker.example/o/r',
    'https://attacker.example/github.com/o/r',
    'https://github.com/o',
    'https://github.com/o/r%2f..%2fadmin',
    'git@attacker.example:o/r',
    'ext::sh -c true',
    '/srv/git/o/r',
    'file:///github.com/o/r',
    'git@github.com:o/r/..',
    '',
  ])('is not set by the credential for %s', url => {
    const address = forgeAddressOf('github', github, url)
    expect(address).toBeUndefined()
  })

  test("is the project's setting, otherwise that of its credential, otherwise the one of its host", () => {
    expect(forgeKindOf('gitea', github, 'https://gitlab.com/o/r')).toBe('gitea')
    expect(forgeKindOf(null, github, 'https://gitlab.com/o/r')).toBe('github')
    expect(forgeKindOf(null, { provider: 'anthropic' }, 'https://gitlab.com/o/r')).toBe('gitlab')
    expect(forgeKindOf(null, undefined, 'https://git.example/o/r')).toBeUndefined()
  })

  test("has its pages at the credential's address, with or without the path of the API", () => {
    expect(webUrlOf(github)).toBe('https://github.com')
    expect(webUrlOf(at('https://api.github.com', 'github'))).toBe('https://github.com')
    expect(webUrlOf(at('https://g.example/api/v1/'))).toBe('https://g.example')
    expect(webUrlOf(at('https://g.example/git'))).toBe('https://g.example/git')
    expect(webUrlOf({ provider: 'gitea', baseUrl: null })).toBeUndefined()
    expect(webUrlOf({ provider: 'openai', baseUrl: null })).toBeUndefined()
  })
})
