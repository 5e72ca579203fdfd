# SPDX-License-Identifier: Apache-2.0
"""A hub of one nats-server, with two leaf nodes before it; TLS everywhere. For measuring only: whoever has a
certificate may say and hear everything. Access points connect to a leaf, so what one asks of another at the other
leaf goes over three servers.
"""

import hearsay_wire as wire
import hood_sites
import hub_cluster
import hub_site
from hearsay_wire import pb
from test_gateway import acting_as

HUB, LEAVES = "n1", ("n2", "n3")


class LeafHub(hub_cluster.Hub):
    def write_servers(self):
        for name, node in self.nodes.items():
            with open(node.config, "w", encoding="utf-8") as file:
                file.write(self._server(name, node))

    def _tls(self, name):
        return (f'tls {{ cert_file: "{self.keys}/{name}.pem", key_file: "{self.keys}/{name}.key", '
                f'ca_file: "{self.keys}/ca.pem", verify: true }}')

    def _server(self, name, node):
        leaf_port = self.nodes[HUB].port + hub_cluster.ROUTE_OFFSET
        text = (f'server_name: {name}\nlisten: "127.0.0.1:{node.port}"\n{self._tls(name)}\n'
                # what setup-hub does with imports and exports of accounts: hub/setup_inner.h
                'mappings: { "q.*.*": "a.$1.$2.somebody" }\n')
        if name == HUB:
            return f'{text}leafnodes {{ listen: "127.0.0.1:{leaf_port}"\n{self._tls(name)} }}\n'
        url = f"tls://127.0.0.1:{leaf_port}"
        own = self._tls(name).replace(", verify: true", "")
        return f'{text}leafnodes {{ remotes: [ {{ url: "{url}"\n{own} }} ] }}\n'

    def wait_ready(self, patience=3 * wire.PATIENCE):
        """What is said at one leaf is heard at the other."""
        hub_cluster.wait_until(self._is_joined, f"a way between the leaves:\n{self.log_tail()}", patience)
        return self

    def _is_joined(self):
        names = list(self.hosts)
        try:
            with self.connect(names[0], node=LEAVES[0]) as here, self.connect(names[-1], node=LEAVES[1]) as there:
                there.subscribe("s.ready.*")
                here.publish("s.ready.now")
                return there.next(None, 0.2)
        except (OSError, hub_cluster.NoAnswer):
            return None

    def make_streams(self, *_):
        """None: no host is published here."""

    def wait_current(self, patience=0):
        return self

    def url_of(self, leaf):
        return f"tls://127.0.0.1:{self.nodes[LEAVES[leaf]].port}"



class LeafSite(hood_sites.HoodSite):
    """An access point at one of the leaves. Its messages stay with it."""

    def __init__(self, hub, make_daemon, *hosts, leaf=0, **options):
        super().__init__(hub, make_daemon, hosts, **options)
        with open(self.bridge.config, encoding="utf-8") as file:
            lines = file.readlines()
        with open(self.bridge.config, "w", encoding="utf-8") as file:
            for line in lines:
                file.write(f"nats = {hub.url_of(leaf)}\n" if line.startswith("nats = ") else line)
                file.write("publish = no\n" if line.startswith("[host ") else "")

    def start(self, keepalive_ms=0):
        if not self.daemon.is_running():
            self.daemon.start()
        with acting_as(hub_site.BECOMES.pw_uid):
            bridge = wire.Client(self.socket)
        with bridge:
            for host in self.roles:  # nothing of it is elsewhere
                bridge.call(pb.Apply(host=host, restored=True, **{"as": pb.AS_RESTORE}))
        return super().start(keepalive_ms)
