"""A plot of the throughput of all peers as SVG: one panel a workload and number of clients."""

import statistics
from xml.sax.saxutils import escape

COLOURS = {"reeve": "#0b6e4f", "redis": "#c8553d", "redis-equal": "#e0a08f", "beanstalkd": "#7a6c5d",
           "postgres": "#3d5a80", "sqlite": "#8d99ae"}
PANEL_WIDTH, BAR, GAP, LEFT, TOP = 300, 16, 6, 90, 64


def svg(results, machine):
    workloads = list(dict.fromkeys(workload for workload, _ in results))
    clients = list(dict.fromkeys(count for _, count in results))
    bars = max(len(cell) for cell in results.values())
    height = bars * (BAR + GAP) + 48
    width = len(clients) * PANEL_WIDTH + 20
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" '
           f'height="{TOP + len(workloads) * height}" font-family="sans-serif" font-size="12">',
           '<rect width="100%" height="100%" fill="white"/>',
           '<text x="10" y="22" font-size="16">Operations a second, each synced before it is answered'
           "</text>",
           f'<text x="10" y="42" fill="#555">this disk: {machine["direct_us"]:.0f} us a synced write; '
           f'socket: {machine["round_trip_us"]:.0f} us a round trip</text>']
    for row, workload in enumerate(workloads):
        for column, count in enumerate(clients):
            cell = results.get((workload, count), {})
            x, y = 10 + column * PANEL_WIDTH, TOP + row * height
            out.append(f'<text x="{x}" y="{y + 12}" font-weight="bold">{escape(workload)}, '
                       f'{count} client{"s" if count > 1 else ""}</text>')
            rates = {name: statistics.median(one["rate"] for one in measured)
                     for name, measured in cell.items()}
            most = max(rates.values(), default=1)
            for place, (name, rate) in enumerate(sorted(rates.items(), key=lambda one: -one[1])):
                top = y + 22 + place * (BAR + GAP)
                length = max(1, rate / most * (PANEL_WIDTH - LEFT - 80))
                out.append(f'<text x="{x}" y="{top + 12}">{escape(name)}</text>')
                out.append(f'<rect x="{x + LEFT}" y="{top}" width="{length:.0f}" height="{BAR}" '
                           f'fill="{COLOURS.get(name, "#999")}"/>')
                out.append(f'<text x="{x + LEFT + length + 5:.0f}" y="{top + 12}">{rate:,.0f}</text>')
    out.append("</svg>\n")
    return "\n".join(out)
