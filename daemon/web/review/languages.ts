import type { LanguageFn } from 'highlight.js'

type Module = Promise<{ default: LanguageFn }>
interface Language {
  /** File extensions, and full names of files without an extension. */
  files: string
  load: () => Module
  /** Languages that its files can contain. */
  inner?: readonly string[]
}

/** The languages. Each one is loaded when one of its files is first shown. */
const languages: Record<string, Language> = {
  bash: { files: 'sh bash zsh', load: () => import('highlight.js/lib/languages/bash') },
  c: { files: 'c h', load: () => import('highlight.js/lib/languages/c') },
  clojure: { files: 'clj cljs cljc edn', load: () => import('highlight.js/lib/languages/clojure') },
  cmake: { files: 'cmake cmakelists.txt', load: () => import('highlight.js/lib/languages/cmake') },
  cpp: { files: 'cc cpp cxx c++ hh hpp hxx h++', load: () => import('highlight.js/lib/languages/cpp') },
  csharp: { files: 'cs', load: () => import('highlight.js/lib/languages/csharp') },
  css: { files: 'css', load: () => import('highlight.js/lib/languages/css') },
  dart: { files: 'dart', load: () => import('highlight.js/lib/languages/dart') },
  diff: { files: 'diff patch', load: () => import('highlight.js/lib/languages/diff') },
  dockerfile: {
    files: 'dockerfile containerfile',
    load: () => import('highlight.js/lib/languages/dockerfile'),
    inner: ['bash'],
  },
  elixir: { files: 'ex exs', load: () => import('highlight.js/lib/languages/elixir') },
  erlang: { files: 'erl hrl', load: () => import('highlight.js/lib/languages/erlang') },
  go: { files: 'go', load: () => import('highlight.js/lib/languages/go') },
  graphql: { files: 'graphql gql', load: () => import('highlight.js/lib/languages/graphql') },
  groovy: { files: 'groovy gradle jenkinsfile', load: () => import('highlight.js/lib/languages/groovy') },
  haskell: { files: 'hs', load: () => import('highlight.js/lib/languages/haskell') },
  ini: { files: 'ini toml cfg conf .editorconfig', load: () => import('highlight.js/lib/languages/ini') },
  java: { files: 'java', load: () => import('highlight.js/lib/languages/java') },
  javascript: { files: 'js jsx mjs cjs', load: () => import('highlight.js/lib/languages/javascript') },
  json: { files: 'json jsonc json5 webmanifest', load: () => import('highlight.js/lib/languages/json') },
  kotlin: { files: 'kt kts', load: () => import('highlight.js/lib/languages/kotlin') },
  less: { files: 'less', load: () => import('highlight.js/lib/languages/less') },
  lua: { files: 'lua', load: () => import('highlight.js/lib/languages/lua') },
  makefile: { files: 'mk mak makefile', load: () => import('highlight.js/lib/languages/makefile'), inner: ['bash'] },
  markdown: { files: 'md markdown', load: () => import('highlight.js/lib/languages/markdown'), inner: ['xml'] },
  nix: { files: 'nix', load: () => import('highlight.js/lib/languages/nix') },
  objectivec: { files: 'm mm', load: () => import('highlight.js/lib/languages/objectivec') },
  perl: { files: 'pl pm', load: () => import('highlight.js/lib/languages/perl') },
  php: { files: 'php', load: () => import('highlight.js/lib/languages/php') },
  powershell: { files: 'ps1 psm1', load: () => import('highlight.js/lib/languages/powershell') },
  properties: { files: 'properties env .env', load: () => import('highlight.js/lib/languages/properties') },
  protobuf: { files: 'proto', load: () => import('highlight.js/lib/languages/protobuf') },
  python: { files: 'py pyi', load: () => import('highlight.js/lib/languages/python') },
  r: { files: 'r', load: () => import('highlight.js/lib/languages/r') },
  ruby: { files: 'rb gemspec podspec rake gemfile rakefile', load: () => import('highlight.js/lib/languages/ruby') },
  rust: { files: 'rs', load: () => import('highlight.js/lib/languages/rust') },
  scala: { files: 'scala sbt', load: () => import('highlight.js/lib/languages/scala') },
  scss: { files: 'scss', load: () => import('highlight.js/lib/languages/scss') },
  sql: { files: 'sql', load: () => import('highlight.js/lib/languages/sql') },
  swift: { files: 'swift', load: () => import('highlight.js/lib/languages/swift') },
  typescript: { files: 'ts tsx mts cts', load: () => import('highlight.js/lib/languages/typescript') },
  xml: {
    files: 'xml html xhtml svg vue svelte xsd xsl plist rss atom',
    load: () => import('highlight.js/lib/languages/xml'),
    inner: ['css', 'javascript'],
  },
  yaml: { files: 'yaml yml', load: () => import('highlight.js/lib/languages/yaml') },
}

const byFile = new Map(
  Object.entries(languages).flatMap(([name, { files }]) => files.split(' ').map(end => [end, name])),
)

/** The language of a file, by its name or the end of it. */
export function languageOf(path: string): string | undefined {
  const name = path.slice(path.lastIndexOf('/') + 1).toLowerCase()
  return byFile.get(name) ?? byFile.get(name.slice(name.lastIndexOf('.') + 1))
}

/** Its grammar, and those of the languages inside it. */
export async function loadLanguage(name: string): Promise<Record<string, LanguageFn>> {
  const all = [name, ...(languages[name]!.inner ?? [])]
  const grammars = await Promise.all(all.map(async each => [each, (await languages[each]!.load()).default] as const))
  return Object.fromEntries(grammars)
}
