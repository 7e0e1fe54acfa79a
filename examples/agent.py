#!/usr/bin/env python3
"""A smallest agent: a report and a notice, then fresh candidates for what was blocked (PROTOCOL 4, 9).
Debian: apt install python3-paho-mqtt python3-cbor2.   python3 agent.py [host] [port] [vehicle] [agent]"""
import sys, time
import cbor2, paho.mqtt.client as mqtt

host, port, vehicle, agent = (sys.argv[1:] + ["127.0.0.1", "1883", "uav1", "planner"][len(sys.argv) - 1:])[:4]
root, said, answered = f"halo/v1/{vehicle}/", [], set()
PARTS = {"range": {"id": "range", "type": "report.range", "payload": {}},
         "hello": {"id": "hello", "type": "notice.operator", "payload": {"text": "range reported"}}}

def respond(snapshot, ids, **recovers):  # cites the newest snapshot; generations only grow, ids are never used twice
    said.append(max([snapshot["agents"][agent]["generation"], *said]) + 1)
    client.publish(f"{root}response/{agent}", cbor2.dumps({
        "v": 1, "response": f"py-{time.time_ns()}", "generation": said[-1], "snapshot": snapshot["snapshot"],
        "components": [PARTS[i] for i in ids], **recovers}), qos=1)

def on_connect(client, *_):
    client.subscribe([(root + t, 1) for t in (f"catalog/{agent}", "snapshot", f"verdict/{agent}", f"outcome/{agent}", f"obligation/{agent}")])

def on_message(client, _, message):
    topic, value = message.topic[len(root):].split("/")[0], cbor2.loads(message.payload)
    if topic != "snapshot":
        print("may say:" if topic == "catalog" else topic, list(value["types"]) if topic == "catalog" else value, flush=True)
        return said.clear() if value.get("reason") == "generation_not_fresh" else None  # begin again from the next snapshot
    if not said:
        return respond(value, PARTS)
    for o in value["obligations"]:  # a snapshot that lists an obligation is newer than it
        ids = [s["id"] for s in o["scope"] if s["id"] in PARTS]
        if ids and o["plan"].startswith(f"{agent}/") and o["route"] == "agent" and (o["id"], o["opened"]) not in answered:
            answered.add((o["id"], o["opened"]))  # a snapshot on its way may list it once more
            return respond(value, ids, recovers=o["plan"].split("/", 1)[1])

client = mqtt.Client(*([mqtt.CallbackAPIVersion.VERSION2] if hasattr(mqtt, "CallbackAPIVersion") else []))  # paho 2, 1.6
client.on_connect, client.on_message = on_connect, on_message
client.connect(host, int(port))
client.loop_forever()
