#!/usr/bin/env python3
"""A smallest agent: one report and one notice, then fresh candidates for what was blocked (PROTOCOL 4, 9).

    pip install paho-mqtt cbor2        # Debian: apt install python3-paho-mqtt python3-cbor2
    python3 agent.py [host] [port] [vehicle] [agent]
"""
import sys, time
import cbor2
import paho.mqtt.client as mqtt

host, port, vehicle, agent = (sys.argv[1:] + ["127.0.0.1", "1883", "uav1", "planner"][len(sys.argv) - 1:])[:4]
root, seen, last = f"halo/v1/{vehicle}/", {}, {"generation": 0}

def respond(components, **recovers):
    """Publishes a response that cites the newest snapshot; ids are never used twice, generations only grow."""
    known = seen["snapshot"]["agents"].get(agent, {}).get("generation", 0)
    last["generation"] = max(last["generation"], known) + 1
    client.publish(f"{root}response/{agent}", cbor2.dumps({
        "v": 1, "response": f"py-{time.time_ns()}", "generation": last["generation"],
        "snapshot": seen["snapshot"]["snapshot"], "components": components, **recovers}), qos=1)

REPORT = {"id": "range", "type": "report.range", "payload": {}}
NOTICE = {"id": "hello", "type": "notice.operator", "payload": {"text": "range reported"}}
CANDIDATES = {c["id"]: c for c in (REPORT, NOTICE)}

def on_connect(client, *_):
    client.subscribe([(root + t, 1) for t in ("catalog", "snapshot", f"verdict/{agent}", f"outcome/{agent}", f"obligation/{agent}")])

def on_message(client, _, message):
    topic, value = message.topic[len(root):].split("/")[0], cbor2.loads(message.payload)
    first = not {"catalog", "snapshot"} <= seen.keys()
    seen[topic] = value
    if topic == "catalog":
        print("may say:", value["agents"][agent], flush=True)
    elif topic in ("verdict", "outcome", "obligation"):
        print(topic, value, flush=True)
    # Somebody spoke under our name since that snapshot: once more, from the next one.
    if topic == "verdict" and value.get("reason") == "generation_not_fresh":
        last["generation"], first = max(last["generation"], value.get("generation", 0)), False
        seen.pop("snapshot")
    if first and {"catalog", "snapshot"} <= seen.keys():
        respond([REPORT, NOTICE])
    # What was blocked comes back only as a fresh candidate; a snapshot that lists the obligation is newer than it.
    if topic == "snapshot":
        for o in value["obligations"]:
            scope = [CANDIDATES[s["id"]] for s in o["scope"] if s["id"] in CANDIDATES]
            if o["plan"].startswith(f"{agent}/") and o["route"] != "operator" and scope:
                respond(scope, recovers=o["plan"].split("/", 1)[1])
                break

# paho-mqtt 2 asks which callbacks are meant; 1.6 (Debian 12) knows one kind only.
versions = [mqtt.CallbackAPIVersion.VERSION2] if hasattr(mqtt, "CallbackAPIVersion") else []
client = mqtt.Client(*versions)
client.on_connect, client.on_message = on_connect, on_message
client.connect(host, int(port))
client.loop_forever()
