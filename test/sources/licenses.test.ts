import { mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { root, sources } from './imports.ts'

const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  dependencies: Record<string, string>
}
const { licenseTexts } = (await import(join(root, 'src/licenses/licenseTexts.mjs'))) as {
  licenseTexts: (inputs: readonly string[]) => string
}

/** The built notices, by the name of the package. */
const notices = new Map(
  readFileSync(join(root, 'dist/third-party-licenses.txt'), 'utf8')
    .split(`\n${'-'.repeat(80)}\n\n`)
    .map(section => [/^(\S+) \S+ \(.+\)\n/.exec(section)?.[1] ?? section.slice(0, 80), section]),
)
const fullText =
  /Permission is hereby granted|Permission to use, copy, modify|Redistribution and use in source|TERMS AND CONDITIONS FOR USE|free and unencumbered/

/** The packages whose values the sources import, without those that npm installs next to the board. */
const importedPackages = [
  ...new Set(
    sources
      .flatMap(file => [
        ...readFileSync(join(root, file), 'utf8').matchAll(
          /(?:^|\n)(?:import|export)\b(?! type\b)[^'"=(]*?from '([^.'][^']*)'|import\('([^.'][^']*)'\)/g,
        ),
      ])
      .map(([, stated, lazy]) => /^(?:@[^/]+\/)?[^/]+/.exec(stated ?? lazy!)![0])
      .filter(name => !isBuiltin(name) && !name.startsWith('virtual:') && !(name in manifest.dependencies)),
  ),
].toSorted()

test('the built notices have the full license text of each bundled package', () => {
  expect([...notices].filter(([, section]) => !fullText.test(section)).map(([name]) => name)).toEqual([])
  expect(importedPackages.length).toBeGreaterThan(30)
  expect(importedPackages.filter(name => !notices.has(name))).toEqual([])
})

test('the built notices name the copyright holder of each package that is published without its license', () => {
  const holders = {
    '@atlaskit/pragmatic-drag-and-drop': 'Copyright 2022 Atlassian Pty Ltd',
    '@libsql/client': 'Copyright (c) 2023 libSQL',
    '@libsql/core': 'Copyright (c) 2023 libSQL',
    '@libsql/isomorphic-ws': 'Copyright 2023 the sqld authors',
    'promise-limit': 'Copyright (c) 2016-2018, Tim Macfarlane',
    standardwebhooks: 'Copyright (c) 2023 Svix',
    'yoga-layout': 'Copyright (c) Facebook, Inc. and its affiliates.',
  }
  for (const [name, holder] of Object.entries(holders)) expect(notices.get(name)).toContain(holder)
  const added = readdirSync(join(root, 'src/licenses'), { recursive: true, encoding: 'utf8' })
    .filter(file => file.endsWith('.txt'))
    .map(file => file.slice(0, -'.txt'.length))
  expect(added.toSorted()).toEqual(Object.keys(holders).toSorted())
})

test('collecting the license texts throws and names each package without a full text', () => {
  const modules = join(mkdtempSync(join(tmpdir(), 'board-licenses-')), 'node_modules')
  const addPackage = (name: string, license: string, files: Record<string, string>) => {
    mkdirSync(join(modules, name, 'lib'), { recursive: true })
    const all = { 'package.json': JSON.stringify({ name, version: '1.0.0', license }), 'lib/index.js': '', ...files }
    for (const [file, text] of Object.entries(all)) writeFileSync(join(modules, name, file), text)
    return join(modules, name, 'lib/index.js')
  }
  const mit = 'Permission is hereby granted, free of charge, to any person'
  const complete = addPackage('complete', '(MIT OR GPL-2.0)', {
    LICENSE: mit,
    'lib/NOTICE': 'Contains code of others.',
  })
  expect(licenseTexts([complete])).toBe(`complete 1.0.0 ((MIT OR GPL-2.0))\n\n${mit}\nContains code of others.`)

  const withoutText = addPackage('@scope/without', 'MIT', {})
  const referring = addPackage('referring', 'Apache-2.0', { LICENSE: 'Licensed under the Apache License, Version 2.0' })
  const unknown = addPackage('unknown', 'SEE LICENSE IN LICENSE', { LICENSE: mit })
  const half = addPackage('half', 'MIT AND ISC', { LICENSE: mit })
  expect(() => licenseTexts([complete, withoutText, referring, unknown, half])).toThrow(
    'The full license text is missing: @scope/without 1.0.0 (MIT), half 1.0.0 (MIT AND ISC), referring 1.0.0 (Apache-2.0), unknown 1.0.0 (SEE LICENSE IN LICENSE).',
  )
})
