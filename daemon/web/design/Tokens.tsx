/** The custom properties of the stylesheet's `:root`, by name. */
const tokens: readonly (readonly [name: string, value: string])[] = [...document.styleSheets]
  .flatMap(sheet => [...sheet.cssRules])
  .filter(rule => rule instanceof CSSStyleRule && rule.selectorText.startsWith(':root,'))
  .flatMap(rule => {
    const { style } = rule as CSSStyleRule
    return [...style].filter(name => name.startsWith('--')).map(name => [name, style.getPropertyValue(name)] as const)
  })

const named = (pattern: RegExp) => tokens.filter(([name]) => pattern.test(name))

/** The design tokens, read from the stylesheet. */
export const Tokens = () => (
  <div className="panel">
    <h3>Tokens</h3>
    <ul className="tokens" aria-label="Colors">
      {tokens
        .filter(([, value]) => value.startsWith('oklch('))
        .map(([name]) => (
          <li key={name}>
            <span className="swatch" style={{ background: `var(${name})` }} />
            <code>{name}</code>
          </li>
        ))}
    </ul>
    <ul className="tokens" aria-label="Shadows and corners">
      {named(/^--(shadow|radius)/).map(([name, value]) => (
        <li key={name}>
          <span
            className="swatch"
            style={name.startsWith('--radius') ? { borderRadius: `var(${name})` } : { boxShadow: `var(${name})` }}
          />
          <code>{name}</code> {name.startsWith('--radius') && <span className="dim">{value}</span>}
        </li>
      ))}
    </ul>
    <ul className="tokens" aria-label="Spacing">
      {named(/^--space/).map(([name, value]) => (
        <li key={name}>
          <span className="swatch" style={{ width: `var(${name})` }} />
          <code>{name}</code> <span className="dim">{value}</span>
        </li>
      ))}
    </ul>
    <ul className="tokens" aria-label="Type and motion">
      {named(/^--(font-size|quick)/).map(([name, value]) => (
        <li key={name}>
          <span style={name === '--quick' ? undefined : { fontSize: `var(${name})` }}>{value}</span>
          <code>{name}</code>
        </li>
      ))}
      {named(/^--(font|mono)$/).map(([name]) => (
        <li key={name}>
          <span style={{ fontFamily: `var(${name})` }}>The quick brown fox 0O 1lI</span>
          <code>{name}</code>
        </li>
      ))}
    </ul>
  </div>
)
